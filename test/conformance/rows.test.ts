/** Every row of the interface's tables, asked of the daemon as its document says. */
import t from 'tap'
import { apiKeys } from './rows/api-keys.js'
import { emails } from './rows/emails.js'
import { prove } from './support/prove.js'
import { world } from './support/world.js'

const one = await world(t)
for (const resource of [apiKeys, emails]) await prove(t, one, resource)

t.test('nothing of it was an error in the log', async (t) => {
  t.same(one.app.errors, [])
})
