/** POST /v1/suppressions/import: the suppression list of another provider, or our own, from a CSV file. */
import { z } from 'zod'
import { actorOf, recordAuditEntry } from '../../accounts/audit-log.js'
import type { Principal } from '../../accounts/principal.js'
import type { Write } from '../../storage/writer/write.js'
import {
  countLines,
  importSuppressions,
  MAX_LINES,
  type SuppressionReport,
} from '../../suppressions/import-suppressions.js'
import { type SuppressionReason, suppressionReasons } from '../../suppressions/suppressions.js'
import { importLimit, suppressionReport } from '../contacts/import-report.js'
import { withFileInMemory } from '../http/input/file-in-memory.js'
import { type Answer, json, type Route, uploadRoute } from '../http/route.js'
import {
  acceptedAnswer,
  createRequestJournal,
  type ImportRouteDeps,
  MAX_SYNC_LINES,
  startLongImport,
} from '../imports/imports.js'

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
    answers: { 200: { description: 'What became of the lines.', schema: suppressionReport }, 202: acceptedAnswer },
    refusals: ['payload_too_large'],
    run: ({ principal, query: { reason }, file, now }) =>
      withFileInMemory(file, deps.files, principal.workspaceId, (bytes) =>
        runImport(deps, { principal, reason, now }, bytes),
      ),
  })
}

interface WantedSuppressions {
  readonly principal: Principal
  readonly reason: SuppressionReason
  readonly now: number
}

async function runImport(
  deps: ImportRouteDeps,
  { principal, reason, now }: WantedSuppressions,
  file: Buffer,
): Promise<Answer> {
  const { workspaceId } = principal
  const actor = actorOf(principal)
  const total = await countLines(file)
  if (total > MAX_SYNC_LINES) {
    return startLongImport(deps, { workspaceId, options: { kind: 'suppressions', reason, actor }, file, total }, now)
  }
  const note = ({ refusals: _, ...details }: SuppressionReport): Write[] => [
    recordAuditEntry({ workspaceId, actor, action: 'suppressions.imported', target: workspaceId, at: now, details }),
  ]
  const journal = createRequestJournal<SuppressionReport>(deps.read, workspaceId)
  return json(200, await importSuppressions(deps, { workspaceId, reason }, file, journal, note))
}
