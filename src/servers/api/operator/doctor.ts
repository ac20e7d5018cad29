/** The routes of the daily checks for the operator: what they found wrong last, and a run at once. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { findingStates } from '../../../operations/doctor/finding.js'
import { readAllFindings, readRunsOfAll } from '../../../operations/doctor/findings-store.js'
import { concernList, showConcerns } from '../concerns/concern-view.js'
import { json } from '../http/answer.js'
import { timestamp } from '../http/input/values.js'
import { type Route, sessionRoute } from '../http/route/route.js'
import type { ServiceConcernReader } from './service-concerns.js'

export interface DoctorRouteDeps {
  readonly serviceConcerns: Pick<ServiceConcernReader, 'read'>
  /** Runs all checks and stores what they find. */
  readonly runDoctor: () => Promise<unknown>
}

const tag = 'Operator'
const doctorView = z
  .strictObject({
    checked_at: timestamp
      .nullable()
      .meta({ description: 'When the last run ended, on whichever node. Null: there was no run yet.' }),
    totals: z.strictObject({ ok: z.int(), warn: z.int(), fail: z.int() }),
    findings: z.array(
      z.strictObject({
        node: z
          .string()
          .nullable()
          .meta({ description: 'The node that found it. Null: nodes have no names, as on SQLite.', example: 'one' }),
        check: z.string().meta({ example: 'ptr' }),
        subject: z.string().meta({ example: '192.0.2.1' }),
        state: z.enum(findingStates).exclude(['ok']),
        text: z.string().meta({ example: 'the address has no reverse name (PTR)' }),
        remedy: z.array(z.string()).meta({ example: ['dig -x 192.0.2.1'] }),
        failed_at: timestamp,
      }),
    ),
  })
  .meta({ id: 'DoctorFindings' })

const serviceConcerns = z
  .strictObject({
    checked_at: timestamp.nullable().meta({ description: 'When all checks ran last. Null: there was no run yet.' }),
    passed: z.int().meta({ description: 'Results of that run that are all right.', example: 52 }),
    local_trial: z.boolean().meta({
      description: 'Whether this is a local trial, in which checks of the public DNS are left out.',
      example: false,
    }),
    concerns: concernList,
  })
  .meta({ id: 'ServiceConcerns' })

export function doctorRoutes({
  read,
  runDoctor,
  serviceConcerns: reader,
}: DoctorRouteDeps & { readonly read: Read }): readonly Route[] {
  const answers = { 200: { description: 'The last runs, and what is wrong since then.', schema: doctorView } }
  return [
    sessionRoute({
      method: 'GET',
      path: '/operator/concerns',
      area: 'operator',
      tag,
      summary: 'Show what of the service needs attention',
      description: 'What the daily checks found, replaced by what the same checks find now where that is known.',
      answers: { 200: { description: 'The list.', schema: serviceConcerns } },
      refusals: [],
      run: async () => {
        const { concerns, run, isTrial } = await reader.read()
        const checkedAt = run.at === 0 ? null : iso(run.at)
        const shown = showConcerns(concerns)
        return json(200, { checked_at: checkedAt, passed: run.totals.ok, local_trial: isTrial, concerns: shown })
      },
    }),
    sessionRoute({
      method: 'GET',
      path: '/operator/doctor',
      area: 'operator',
      tag,
      summary: 'Show what the daily checks found wrong',
      answers,
      refusals: [],
      run: async () => json(200, await showFindings(read)),
    }),
    sessionRoute({
      method: 'POST',
      path: '/operator/doctor',
      area: 'operator',
      tag,
      summary: 'Run all checks now',
      description: 'Takes up to 20 seconds. Requests during a run share the next one.',
      answers,
      refusals: [],
      run: async () => {
        await runDoctor()
        return json(200, await showFindings(read))
      },
    }),
  ]
}

async function showFindings(read: Read): Promise<z.output<typeof doctorView>> {
  const { at, totals } = await readRunsOfAll(read)
  return {
    checked_at: at === 0 ? null : iso(at),
    totals,
    findings: (await readAllFindings(read)).map(({ node, check, subject, state, text, remedy, failedAt }) => ({
      node: node === '' ? null : node,
      ...{ check, subject, state, text, remedy: [...remedy], failed_at: iso(failedAt) },
    })),
  }
}
