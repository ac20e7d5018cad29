/** What the settings of a webhook must not have, and how that is said. */
import t from 'tap'
import { parseInput } from '../../../../src/servers/api/http/input/parse-input.js'
import { webhookChange, webhookRequest } from '../../../../src/servers/api/webhooks/webhook-fields.js'
import { catchRefusal } from '../../../helpers/catch-refusal.js'

const given = { url: 'https://example.com/hooks', events: ['email.bounced'] }

t.test('a header field must not be given twice, whatever its case', async (t) => {
  const headers = { 'X-Token': 'a', 'x-token': 'b', 'X-Other': 'c' }
  const message = 'headers: must have x-token once: case does not count'
  t.match(await catchRefusal(() => parseInput(webhookRequest, { ...given, headers })), { message })
  t.match(await catchRefusal(() => parseInput(webhookChange, { headers })), { message })
  t.match(parseInput(webhookRequest, { ...given, headers: { 'X-Token': 'a' } }), { headers: { 'X-Token': 'a' } })
})

t.test('an unknown event type gets the one that was probably meant', async (t) => {
  const messageFor = (type: unknown): Promise<unknown> =>
    catchRefusal(() => parseInput(webhookRequest, { ...given, events: ['email.sent', type] }))
  t.match(await messageFor('email.bounce'), {
    message: /^events\[1\]: is not an event type, allowed: email\..*; did you mean "email\.bounced"\?$/,
  })
  t.match(await messageFor('nothing'), { message: /^events\[1\]: is not an event type, allowed: [^;]+$/ })
  t.match(await messageFor(7), { message: /^events\[1\]: / })
  t.match(parseInput(webhookRequest, { ...given, events: ['email.delivery_delayed'] }), { events: ['email.deferred'] })
})
