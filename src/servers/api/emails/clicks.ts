/** GET /v1/emails/:id/clicks: how often the links of an email were followed by persons. */
import { z } from 'zod'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { clickedLinks, clickTotals } from '../../../outbound/tracking/clicked-links.js'
import { firstClickOf } from '../../../outbound/tracking/first-hits.js'
import { requireVisibleEmail } from '../../../records/messages/email-resource.js'
import { json } from '../http/answer.js'
import { type Route, route } from '../http/route/route.js'
import { viewerOf } from './show.js'

const moment = z.iso.datetime()

const clickStatistics = z
  .object({
    email_id: z.string().meta({ example: '01a1ff35-3880-7ef5-bbba-0d7e1de2529c' }),
    clicked: z.boolean(),
    first_clicked_at: moment.nullable(),
    total_clicks: z.int().meta({ example: 3 }),
    unique_links_clicked: z.int().meta({ example: 1 }),
    links: z
      .array(
        z.object({
          url: z.string().meta({ example: 'https://example.com/spring' }),
          clicks: z.int().meta({ example: 3 }),
          last_clicked_at: moment,
        }),
      )
      .meta({ description: 'Those that were clicked, the most clicked first; at most 1,000.' }),
  })
  .meta({ id: 'ClickStatistics', description: 'Without the clicks of machines.' })

export function clicksRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/emails/:id/clicks',
    area: 'read',
    own: true,
    tag: 'Emails',
    summary: 'Read how often the links of an email were clicked',
    description:
      'A link appears with its first click. Clicks of programs, such as scanners, are events but not counted. Of a ' +
      'message of a broadcast only the first click is recorded.',
    answers: { 200: { description: 'The clicks', schema: clickStatistics } },
    refusals: ['email_not_found'],
    run: async ({ principal, params: { id = '' } }) => {
      const email = await requireVisibleEmail(read, viewerOf(principal), id)
      const key = { workspaceId: email.workspace_id, emailId: email.id }
      return json(200, email.broadcast_id === null ? await readStatistics(read, key) : await readFirstClick(read, key))
    },
  })
}

interface EmailKey {
  readonly workspaceId: string
  readonly emailId: string
}

/** Reads the first click of a message of a broadcast. */
async function readFirstClick(read: Read, email: EmailKey): Promise<z.output<typeof clickStatistics>> {
  const [click] = await firstClickOf(read, email)
  return {
    email_id: email.emailId,
    clicked: click !== undefined,
    first_clicked_at: click?.clicked_at ?? null,
    total_clicks: click === undefined ? 0 : 1,
    unique_links_clicked: click === undefined ? 0 : 1,
    links: click === undefined ? [] : [{ url: click.url, clicks: 1, last_clicked_at: click.clicked_at }],
  }
}

async function readStatistics(read: Read, email: EmailKey): Promise<z.output<typeof clickStatistics>> {
  const [totals] = await clickTotals(read, email)
  const { links = 0, clicks = null, first_clicked_at: first = null } = totals ?? {}
  return {
    email_id: email.emailId,
    clicked: links > 0,
    first_clicked_at: first === null ? null : formatTimestamp(first),
    total_clicks: clicks ?? 0,
    unique_links_clicked: links,
    links: (await clickedLinks(read, email)).flatMap(({ url, clicks, last_clicked_at: last }) =>
      last === null ? [] : [{ url, clicks, last_clicked_at: formatTimestamp(last) }],
    ),
  }
}
