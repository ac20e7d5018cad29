/** GET /ui/api/queue: what of the workspace waits in the queue, and why. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { countQueue } from '../../../records/messages/queue/queue-counts.js'
import { json } from '../http/answer.js'
import { type Route, route } from '../http/route/route.js'

const count = z.int().min(0)

const counts = z
  .strictObject({
    waiting: count.meta({ description: 'Due, and not attempted yet.' }),
    sending: count.meta({ description: 'Being attempted.' }),
    deferred: count.meta({ description: 'The last attempt failed for now; another follows.' }),
    unreachable: count.meta({ description: 'All servers of the recipient are down; they are tried when one answers.' }),
    scheduled: count.meta({ description: 'To be sent later.' }),
    held: count.meta({ description: 'Held by the operator, by hand or by a rule.' }),
    held_by_members: count.meta({ description: 'Held by members of the workspace, who can release it.' }),
    paused: count.meta({ description: 'Of a broadcast that is paused or cancelled.' }),
    complete: z.boolean().meta({ description: 'False: the queue is longer than what was counted.' }),
  })
  .meta({ id: 'QueueCounts', description: 'Recipients, not emails.' })

export function queueRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/queue',
    area: 'read',
    tag: 'Overview',
    summary: 'Show how many recipients wait in the queue, and for what',
    answers: { 200: { description: 'The numbers.', schema: counts } },
    refusals: [],
    run: async ({ principal: { workspaceId }, now }) => {
      const { isComplete, heldByMembers, ...found } = await countQueue(read, workspaceId, now)
      return json(200, { ...found, held_by_members: heldByMembers, complete: isComplete })
    },
  })
}
