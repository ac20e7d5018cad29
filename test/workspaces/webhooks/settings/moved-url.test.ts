/** Secrets of a webhook do not follow its URL to another host. */
import t from 'tap'
import { requireSecretsAgain } from '../../../../src/workspaces/webhooks/settings/moved-url.js'
import { catchRefusal } from '../../../helpers/catch-refusal.js'

const stored = { url: 'https://a.test/hook', login: 'user:secret', headers: { 'X-Token': 'secret' } }
const elsewhere = 'https://b.test/hook'

t.test('they stay for another path of the same host', async (t) => {
  t.doesNotThrow(() => requireSecretsAgain(stored, { url: undefined, login: 'keep', headers: undefined }))
  t.doesNotThrow(() => requireSecretsAgain(stored, { url: 'https://a.test/x', login: 'keep', headers: undefined }))
})

t.test('for another host they are stated again, or left out', async (t) => {
  for (const [change, field] of [
    [{ url: elsewhere, login: 'keep', headers: {} }, 'url'],
    [{ url: elsewhere, login: null, headers: undefined }, 'headers'],
    [{ url: elsewhere, login: null, headers: { 'X-Token': '***' } }, 'headers'],
    [{ url: 'http://a.test/hook', login: null, headers: undefined }, 'headers'],
  ] as const)
    t.match(await catchRefusal(() => requireSecretsAgain(stored, change)), {
      kind: 'invalid-parameter',
      details: { field },
    })
  t.doesNotThrow(() => requireSecretsAgain(stored, { url: elsewhere, login: null, headers: {} }))
  t.doesNotThrow(() => requireSecretsAgain(stored, { url: elsewhere, login: 'u:p', headers: { 'X-Token': 'new' } }))
  t.doesNotThrow(() =>
    requireSecretsAgain({ ...stored, login: null, headers: {} }, { url: elsewhere, login: 'keep', headers: undefined }),
  )
})
