/** POST /v1/suppressions/import: the suppression list of another provider, or our own, from a CSV file. */
import { z } from 'zod'
import { actorOf, recordAct } from '../../accounts/audit-log.js'
import type { Principal } from '../../accounts/principal.js'
import type { Write } from '../../storage/writer/write.js'
import {
  countLines,
  MAX_LINES,
  type SuppressionReport,
  takeSuppressions,
} from '../../suppressions/import-suppressions.js'
import { type SuppressionReason, suppressionReasons } from '../../suppressions/suppressions.js'
import { importLimit, suppressionReport } from '../contacts/import-report.js'
import { begin, begunAnswer, type ImportRouteDeps, MAX_AT_ONCE, requestJournal } from '../contacts/imports.js'
import { withWholeFile } from '../http/input/file-in-memory.js'
import { type Answer, json, type Route, uploadRoute } from '../http/route.js'

const query = z.strictObject({
  reason: z
    .enum(suppressionReasons, `allowed: ${suppressionReasons.join(', ')}`)
    .default('manual')
    .meta({ description: 'Of lines that do not say theirs. Default `manual`.' }),
})

export function suppressionImportRoute(deps: ImportRouteDeps): Route {
  return uploadRoute({
    method: 'POST',
    path: '/suppressions/import',
    area: 'write',
    tag: 'Suppressions',
    summary: 'Import suppressed addresses from a CSV file',
    description: 'Exports of Postmark, SendGrid, Mailgun and Amazon SES are known by their columns.',
    query,
    limit: importLimit,
    fileDescription: `CSV with the names of the columns in its first line; up to ${MAX_LINES} lines.`,
    fileExample: 'email,reason\r\nbob@example.com,unsubscribe\r\n',
    answers: { 200: { description: 'What became of the lines.', schema: suppressionReport }, 202: begunAnswer },
    refusals: ['payload_too_large'],
    receive: ({ principal, query: { reason }, file, now }) =>
      withWholeFile(file, deps.files, principal.workspaceId, (bytes) => take(deps, { principal, reason, now }, bytes)),
  })
}

interface Wanted {
  readonly principal: Principal
  readonly reason: SuppressionReason
  readonly now: number
}

async function take(deps: ImportRouteDeps, { principal, reason, now }: Wanted, file: Buffer): Promise<Answer> {
  const { workspaceId } = principal
  const actor = actorOf(principal)
  const total = await countLines(file)
  if (total > MAX_AT_ONCE) {
    return begin(deps, { workspaceId, options: { kind: 'suppressions', reason, actor }, file, total }, now)
  }
  const note = ({ refusals: _, ...details }: SuppressionReport): Write[] => [
    recordAct({ workspaceId, actor, action: 'suppressions.imported', target: workspaceId, at: now, details }),
  ]
  const journal = requestJournal<SuppressionReport>(deps.read, workspaceId)
  return json(200, await takeSuppressions(deps, { workspaceId, reason }, file, journal, note))
}
