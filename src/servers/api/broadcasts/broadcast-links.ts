/** Lists the links of a broadcast that persons clicked. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { listClickedLinks } from '../../../outbound/broadcasts/broadcast-clicks.js'
import { requireBroadcast } from '../../../outbound/broadcasts/broadcast-list.js'
import { json } from '../http/answer.js'
import { type Route, route } from '../http/route/route.js'
import { broadcastRefOf, tag } from './broadcasts.js'

const MAX_LINKS = 100

const links = z.strictObject({
  data: z.array(z.strictObject({ url: z.string().meta({ example: 'https://example.com/spring' }), clicks: z.int() })),
})

export function broadcastLinksRoute(read: Read): Route {
  return route({
    method: 'GET',
    path: '/broadcasts/:id/links',
    area: 'read',
    tag,
    summary: 'List the links of a broadcast that were clicked most',
    description: `At most ${MAX_LINKS}. Of each recipient the first click counts; clicks of programs do not.`,
    answers: { 200: { description: 'The links.', schema: links } },
    refusals: ['not_found'],
    run: async (call) => {
      const ref = broadcastRefOf(call)
      await requireBroadcast(read, ref)
      return json(200, { data: [...(await listClickedLinks(read, ref, MAX_LINKS))] })
    },
  })
}
