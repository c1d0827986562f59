//! The names of models: `provider:model`, `provider:model@base-url` and `scripted:FILE`.

use std::fmt;

use portolan_core::diagnostic::{clip, closest};
use reqwest::Url;

use super::OpenError;
use super::providers::{PROVIDERS, Provider, provider};

/// The prefix of scripted models.
const SCRIPTED: &str = "scripted";
/// The maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 2_048;

/// A parsed model name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelName {
    /// A model of a provider.
    Provided {
        /// The provider.
        provider: &'static Provider,
        /// The provider's name of the model.
        model: String,
        /// The address, if it is not the provider's usual one.
        base: Option<Url>,
    },
    /// Written answers in this file.
    Scripted(String),
}

impl ModelName {
    /// Parses a name.
    ///
    /// # Errors
    /// The name is invalid, its provider is unknown, or its address cannot be used.
    pub fn parse(text: &str) -> Result<ModelName, OpenError> {
        let wrong = |what: String, help: &str| OpenError::new("bad-model-name", what, help);
        let shown = clip(text);
        let form = "write it as `provider:model`, such as `openai:gpt-4o-mini`, or `scripted:FILE`";
        if text.len() > MAX_NAME_BYTES {
            return Err(wrong(format!("the model name `{shown}` is too long"), form));
        }
        let Some((first, rest)) = text.split_once(':') else {
            return Err(wrong(format!("the model `{shown}` has no provider"), form));
        };
        if rest.trim().is_empty() || rest.trim() != rest {
            return Err(wrong(
                format!("the part of the model name `{shown}` after its provider is empty, or has spaces around it"),
                form,
            ));
        }
        if first == SCRIPTED {
            return Ok(ModelName::Scripted(rest.to_owned()));
        }
        let provider = provider(first).ok_or_else(|| unknown(first))?;
        // Some models have an `@` in their names. Only an `@` before an address begins the address.
        let (model, base) = match rest.find("@http://").or_else(|| rest.find("@https://")) {
            Some(at) => (&rest[..at], Some(address(provider, &rest[at + 1..])?)),
            None => (rest, None),
        };
        if model.is_empty() || model.contains(char::is_control) {
            return Err(wrong(
                format!("the model name `{shown}` does not say which model of `{provider}` is meant"),
                form,
            ));
        }
        Ok(ModelName::Provided { provider, model: model.to_owned(), base })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelName::Provided { provider, model, base: None } => write!(f, "{provider}:{model}"),
            ModelName::Provided { provider, model, base: Some(base) } => write!(f, "{provider}:{model}@{base}"),
            ModelName::Scripted(file) => write!(f, "{SCRIPTED}:{file}"),
        }
    }
}

/// Parses the address of a model. Ollama's is usually given without the path of its protocol.
pub(super) fn address(provider: &Provider, text: &str) -> Result<Url, OpenError> {
    let wrong = |why: String| {
        let help = "write it as `https://host/path`, and keep keys in the environment";
        OpenError::new(
            "bad-model-name",
            format!("the address `{}` of the model cannot be used: {why}", shown(text)),
            help,
        )
    };
    let mut url = Url::parse(text).map_err(|error| wrong(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(format!("it begins with `{}:`", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("it has more than a host and a path".to_owned()));
    }
    if provider.name.starts_with("ollama") && url.path() == "/" {
        url.set_path("/v1");
    }
    Ok(url)
}

/// Returns an address without a possible password.
fn shown(text: &str) -> String {
    match text.split_once('@') {
        Some((_, host)) => format!("…@{}", clip(host)),
        None => clip(text.split('?').next().unwrap_or(text)),
    }
}

fn unknown(name: &str) -> OpenError {
    let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).chain([SCRIPTED]).collect();
    let near = closest(name, names.iter().copied()).map(|near| format!("did you mean `{near}`? "));
    let all = names.join(", ");
    let help = format!(
        "{}the providers are {all}; any other server with the OpenAI API is `openai:model@base-url`",
        near.unwrap_or_default()
    );
    OpenError::new("unknown-provider", format!("there is no model provider `{}`", clip(name)), help)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let told = |text: &str| match ModelName::parse(text) {
            Ok(ModelName::Provided { provider, model, base }) => {
                format!("{provider} | {model} | {}", base.map_or("its own".to_owned(), |base| base.to_string()))
            }
            Ok(ModelName::Scripted(file)) => format!("scripted | {file}"),
            Err(error) => format!("{}: {}", error.code, error.message),
        };
        let names = [
            "openai:gpt-4o-mini",
            "openai:qwen@http://127.0.0.1:8080/v1",
            "anthropic:claude-sonnet-4-5",
            "ollama:llama3:8b",
            "ollama:llama3@http://10.0.0.2:11434",
            "gemini:gemini-2.5-flash",
            "fireworks:accounts/a@b/models/c",
            "scripted:tests/answers.yaml",
            "gpt-4o",
            "",
            "openai:",
            "openai: x",
            "openai:@http://127.0.0.1",
            "opnai:gpt-4o",
            "openai:x@http://user:hunter2@host/v1",
            "openai:x@https://host/v1?key=hunter2",
            "openai:x@http://",
        ];
        let all: String = names.iter().map(|name| format!("{name}\n    {}\n", told(name))).collect();
        expect![[r#"
            openai:gpt-4o-mini
                openai | gpt-4o-mini | its own
            openai:qwen@http://127.0.0.1:8080/v1
                openai | qwen | http://127.0.0.1:8080/v1
            anthropic:claude-sonnet-4-5
                anthropic | claude-sonnet-4-5 | its own
            ollama:llama3:8b
                ollama | llama3:8b | its own
            ollama:llama3@http://10.0.0.2:11434
                ollama | llama3 | http://10.0.0.2:11434/v1
            gemini:gemini-2.5-flash
                gemini | gemini-2.5-flash | its own
            fireworks:accounts/a@b/models/c
                fireworks | accounts/a@b/models/c | its own
            scripted:tests/answers.yaml
                scripted | tests/answers.yaml
            gpt-4o
                bad-model-name: the model `gpt-4o` has no provider

                bad-model-name: the model `` has no provider
            openai:
                bad-model-name: the part of the model name `openai:` after its provider is empty, or has spaces around it
            openai: x
                bad-model-name: the part of the model name `openai: x` after its provider is empty, or has spaces around it
            openai:@http://127.0.0.1
                bad-model-name: the model name `openai:@http://127.0.0.1` does not say which model of `openai` is meant
            opnai:gpt-4o
                unknown-provider: there is no model provider `opnai`
            openai:x@http://user:hunter2@host/v1
                bad-model-name: the address `…@host/v1` of the model cannot be used: it has more than a host and a path
            openai:x@https://host/v1?key=hunter2
                bad-model-name: the address `https://host/v1` of the model cannot be used: it has more than a host and a path
            openai:x@http://
                bad-model-name: the address `http://` of the model cannot be used: empty host
        "#]].assert_eq(&all);
        let error = ModelName::parse("opnai:gpt-4o").expect_err("no provider");
        expect!["did you mean `openai`? the providers are aihubmix, aliyun, anthropic, api_route, atlascloud, baidu, bigmodel, cloudgpu, cohere, deepseek, fireworks, gemini, github, groq, heabsy, kimi, mimo, minimax, mistral, moonshot, nebius, ollama, ollama_cloud, omlx, open_router, openai, opencode_go, qwen_cloud, requesty, runcrate, together, xai, zai, scripted; any other server with the OpenAI API is `openai:model@base-url`"].assert_eq(&error.help);
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_is_shown_is_read_the_same(text in "(openai|ollama|scripted|x)?:?[a-z@:/.é\u{1b}]{0,20}(@http://h[a-z/@:?#0-9]{0,12})?") {
            if let Ok(name) = ModelName::parse(&text) {
                prop_assert_eq!(ModelName::parse(&name.to_string()).expect("the same"), name);
            }
        }
    }
}
