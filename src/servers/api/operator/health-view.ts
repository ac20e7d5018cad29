/** The health of the service as its route shows it. Sizes are in bytes, delays in milliseconds. */
import { z } from 'zod'
import { shownStates } from '../../../base/storage/postgres/node-view.js'
import { timestamp } from '../http/input/values.js'

const size = z.int().meta({ example: 1_048_576 })

export const healthView = z
  .strictObject({
    version: z.string(),
    node: z.string().meta({ example: 'v22.21.0' }),
    started_at: timestamp,
    process: z.strictObject({
      rss: size,
      heap_used: size,
      threads: z.int().nullable(),
      load: z.number().meta({ description: 'Share of time in which the main thread is busy, 0 to 1.', example: 0.12 }),
      delay_p50: z.int(),
      delay_p99: z.int(),
      delay_max: z.int(),
    }),
    storage: z.strictObject({
      database: size,
      wal: size,
      spool: size.meta({ description: 'Bytes of large messages in files next to the database.' }),
      free_in_database: size,
      disk_free: size,
      disk_total: size,
      accepts_mail: z.boolean().meta({ description: 'False: the disk is nearly full.' }),
      commits: z.int().meta({ description: 'Since the start.' }),
    }),
    certificate: z.strictObject({ expires_at: timestamp, self_signed: z.boolean() }),
    queue: z.strictObject({ complete: z.boolean(), total: z.int(), held: z.int(), oldest_at: timestamp.nullable() }),
    webhooks: z.strictObject({ enabled: z.int(), failing: z.int(), behind: z.int() }),
    listeners: z.array(
      z.strictObject({ name: z.string().meta({ example: 'MX' }), address: z.string().meta({ example: '0.0.0.0:25' }) }),
    ),
    answered_by: z
      .string()
      .nullable()
      .meta({ description: 'The node whose process, disk and listeners these are. Null on SQLite.', example: 'one' }),
    nodes: z
      .array(
        z.strictObject({
          name: z.string().meta({ example: 'one' }),
          state: z.enum(shownStates),
          version: z.string(),
          last_beat: timestamp.nullable(),
          started_at: timestamp,
          entries: z.int().meta({ description: 'Entries of its queue.' }),
          leads: z.boolean(),
          adopted_by: z.string().nullable(),
        }),
      )
      .meta({ description: 'The daemons that work on one PostgreSQL database. Empty on SQLite.' }),
  })
  .meta({ id: 'Health' })

export type Health = z.output<typeof healthView>
