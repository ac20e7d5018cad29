/** The route of the paces of providers, for the operator. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { pacesByChange } from '../../../outbound/delivery/shaping/pace-store.js'
import { paceStates, viewPace } from '../../../outbound/delivery/shaping/pace-view.js'
import { json } from '../http/answer.js'
import { timestamp } from '../http/input/values.js'
import { type Route, sessionRoute } from '../http/route/route.js'

/** The entries that have changed last are listed. */
const MAX_LISTED = 500

const paceView = z
  .strictObject({
    provider: z.string().meta({ example: 'google' }),
    name: z.string().meta({ example: 'Google' }),
    source_address: z
      .string()
      .nullable()
      .meta({ description: 'Null: the one that the system chooses.', example: null }),
    sessions: z.int().nullable().meta({ description: 'Open at a time; null: no limit.', example: 20 }),
    messages_per_session: z.int().nullable().meta({ description: 'Null: none was learned.', example: 100 }),
    rate: z.number().nullable().meta({ description: 'Messages a second; null: no limit is known.', example: 118.5 }),
    state: z.enum(paceStates).meta({ example: 'paused' }),
    reason: z.string().nullable().meta({ example: 'Google asked us to slow down: 421 4.7.28 …' }),
    until: timestamp.nullable(),
    changed_at: timestamp,
  })
  .meta({ id: 'ProviderPace' })

export function shapingRoute({ read }: { readonly read: Read }): Route {
  return sessionRoute({
    method: 'GET',
    path: '/operator/shaping',
    area: 'operator',
    tag: 'Operator',
    summary: 'List the paces of the providers that have refused something for it',
    answers: {
      200: {
        description: `Changed last first, ${MAX_LISTED} at most.`,
        schema: z.strictObject({ data: z.array(paceView) }),
      },
    },
    refusals: [],
    run: async ({ now }) =>
      json(200, { data: (await pacesByChange(read, { limit: MAX_LISTED })).map((row) => viewPace(row, now)) }),
  })
}
