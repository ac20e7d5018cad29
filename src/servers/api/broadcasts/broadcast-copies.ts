/** POST /v1/broadcasts/:id/duplicate: a draft with the content of a broadcast. */
import type { Store } from '../../../base/storage/db/database.js'
import { copyBroadcast } from '../../../outbound/broadcasts/copy-broadcast.js'
import { json } from '../http/answer.js'
import { type Route, route } from '../http/route/route.js'
import { broadcastRecord, toBroadcastRecord } from './broadcast-answers.js'
import { draftExample } from './broadcast-examples.js'
import { broadcastCopy } from './broadcast-fields.js'
import { broadcastRefOf, tag } from './broadcasts.js'

export function broadcastCopyRoute(store: Store): Route {
  return route({
    method: 'POST',
    path: '/broadcasts/:id/duplicate',
    area: 'write',
    tag,
    summary: 'Make a draft with the content of a broadcast',
    description:
      'With `only_not_opened` the draft goes only to contacts that got the first broadcast and neither opened it nor ' +
      'followed a link. Contacts whose message bounced, and who complained or unsubscribed, are left out. The first ' +
      'broadcast must have ended, and none of its emails may have been removed.',
    body: broadcastCopy.optional(),
    answers: { 201: { description: 'The draft.', schema: broadcastRecord, example: draftExample } },
    refusals: ['not_found', 'conflict', 'audience_not_found', 'template_not_found', 'invalid_template_variables'],
    run: async (call) => {
      const { name, only_not_opened: isForUnopened = false } = call.body ?? {}
      const draft = await copyBroadcast(store, broadcastRefOf(call), { name, isForUnopened, now: call.now })
      return json(201, await toBroadcastRecord(store.read, draft))
    },
  })
}
