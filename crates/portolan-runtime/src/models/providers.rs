//! The known providers: their addresses, their protocols, and the variables of their keys.

use std::fmt;

/// The protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI's chat completions, which most providers and local servers support.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// A provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name in the names of models.
    pub name: &'static str,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its base address. The path of the protocol follows.
    pub base: &'static str,
    /// The environment variable of its key. `None` if it needs no key.
    pub key: Option<&'static str>,
    /// Whether requests without a key are allowed if none is set.
    pub key_optional: bool,
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const fn at(name: &'static str, base: &'static str, key: &'static str) -> Provider {
    Provider { name, protocol: Protocol::OpenAi, base, key: Some(key), key_optional: false }
}

/// All providers, by name.
pub const PROVIDERS: &[Provider] = &[
    at("aihubmix", "https://aihubmix.com/v1", "AIHUBMIX_API_KEY"),
    at("aliyun", "https://dashscope.aliyuncs.com/compatible-mode/v1", "ALIYUN_API_KEY"),
    Provider { protocol: Protocol::Anthropic, ..at("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY") },
    at("api_route", "https://global.api-route.com/v1", "API_ROUTE_API_KEY"),
    at("atlascloud", "https://api.atlascloud.ai/v1", "ATLASCLOUD_API_KEY"),
    at("baidu", "https://qianfan.baidubce.com/v2", "BAIDU_API_KEY"),
    at("bigmodel", "https://open.bigmodel.cn/api/paas/v4", "BIGMODEL_API_KEY"),
    at("cloudgpu", "https://cloudgpu.app/v1", "CLOUDGPU_API_KEY"),
    at("cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY"),
    at("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    at("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    at("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    at("github", "https://models.github.ai/inference", "GITHUB_TOKEN"),
    at("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    at("heabsy", "https://api.heabsy.com/v1", "HEABSY_API_KEY"),
    at("kimi", "https://api.moonshot.ai/v1", "KIMI_API_KEY"),
    at("mimo", "https://api.mimo.com/openai/v1", "MIMO_API_KEY"),
    Provider {
        protocol: Protocol::Anthropic,
        ..at("minimax", "https://api.minimax.io/anthropic/v1", "MINIMAX_API_KEY")
    },
    at("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    at("moonshot", "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY"),
    at("nebius", "https://api.studio.nebius.ai/v1", "NEBIUS_API_KEY"),
    Provider { key: None, ..at("ollama", "http://127.0.0.1:11434/v1", "") },
    at("ollama_cloud", "https://ollama.com/v1", "OLLAMA_API_KEY"),
    Provider { key_optional: true, ..at("omlx", "http://127.0.0.1:8000/v1", "OMLX_API_KEY") },
    at("open_router", "https://openrouter.ai/api/v1", "OPEN_ROUTER_API_KEY"),
    at("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    at("opencode_go", "https://opencode.ai/zen/go/v1", "OPENCODE_GO_API_KEY"),
    at("qwen_cloud", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "QWEN_CLOUD_API_KEY"),
    at("requesty", "https://router.requesty.ai/v1", "REQUESTY_API_KEY"),
    at("runcrate", "https://api.runcrate.ai/v1", "RUNCRATE_API_KEY"),
    at("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    at("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    at("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
];

/// Returns the provider of a name.
pub(super) fn provider(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_of_its_own_and_an_address_that_keeps_its_key_to_itself() {
        assert!(PROVIDERS.windows(2).all(|pair| pair[0].name < pair[1].name), "the table is sorted");
        for provider in PROVIDERS {
            let url = reqwest::Url::parse(provider.base).expect("an address");
            let local = url.host_str() == Some("127.0.0.1");
            assert!(url.scheme() == "https" || local, "{provider}");
            assert!(!provider.base.ends_with('/'), "{provider}");
            assert_eq!(provider.key.is_none() || provider.key_optional, local, "{provider}");
        }
    }
}
