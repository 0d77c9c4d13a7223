// A real OpenID provider for the tests: people who log in by its own pages, and programs with secrets of their own.
import { generateKeyPairSync } from 'node:crypto';
import { Provider } from 'oidc-provider';

const port = Number(process.argv[2]);
const people = JSON.parse(process.argv[3]); // subject -> claims
const issuer = `http://127.0.0.1:${port}`;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'first' }] },
  clients: [
    {
      client_id: 'app',
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      redirect_uris: ['http://127.0.0.1/done', 'http://127.0.0.1/web/login/done'],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
    },
    ...['robot', 'stray'].map((name) => ({
      client_id: name,
      client_secret: 'a secret of the tests alone, of no worth',
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    })),
  ],
  cookies: { keys: ['of the tests alone'] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
  extraTokenClaims: (_, token) => people[token.accountId ?? token.clientId] ?? {},
  features: {
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({
        scope: 'engram:read engram:write',
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 3600,
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
  issueRefreshToken: () => true,
  ttl: { Interaction: 600, Session: 600, Grant: 3600, ClientCredentials: 3600 },
});
provider.listen(port, '127.0.0.1', () => console.log('ready'));
