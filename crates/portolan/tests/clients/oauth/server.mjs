// An authorization server: oidc-provider, with the keys of a file, one client, and this resource.
//
//     node server.mjs ISSUER KEYS RESOURCE
import { readFileSync } from "node:fs";
import Provider from "oidc-provider";

const [issuer, keys, resource] = process.argv.slice(2);
const scope = "read navigate run author person";
const provider = new Provider(issuer, {
  jwks: JSON.parse(readFileSync(keys, "utf8")),
  scopes: scope.split(" "),
  clients: [
    {
      client_id: "release-agent",
      client_secret: "a secret of the test alone",
      grant_types: ["client_credentials"],
      response_types: [],
      redirect_uris: [],
      scope,
    },
  ],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      getResourceServerInfo: (_context, indicator) => {
        if (!indicator.startsWith(resource)) throw new Error(`there is no resource ${indicator}`);
        return { scope, audience: indicator, accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } };
      },
    },
  },
});
provider.listen(Number(new URL(issuer).port), "127.0.0.1", () => console.log("ready"));
