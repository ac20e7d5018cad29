/** Kinds with a name, by what a principal may read. */
import t from 'tap'
import { namedKindsFor } from '../../../../src/servers/api/search/found-names.js'

t.test('a principal finds the kinds whose lists it may read', async (t) => {
  const kindsOf = (principal: Parameters<typeof namedKindsFor>[0]) => namedKindsFor(principal).map(({ kind }) => kind)
  const all = ['broadcasts', 'audiences', 'templates', 'keys', 'webhooks']
  t.same(kindsOf({ role: 'owner', scopes: ['full'] }), all)
  t.same(kindsOf({ role: 'member', scopes: ['full'] }), all, 'members may read the lists of keys and webhooks')
  t.same(kindsOf({ role: 'owner', scopes: ['send'] }), [])
})
