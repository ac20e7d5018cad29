/** POST /v1/suppressions/import: the suppression list of another provider, or our own, from a CSV file. */
import { z } from 'zod'
import { actorOf, recordAct } from '../accounts/audit-log.js'
import type { Clock } from '../platform/clock.js'
import { importSuppressions, MAX_LINES, type SuppressionReport } from '../suppressions/import-suppressions.js'
import { suppressionReasons } from '../suppressions/suppressions.js'
import { type FilesInMemory, withWholeFile } from './file-in-memory.js'
import { importLimit, refusedLines } from './import-report.js'
import { json, type Route, uploadRoute } from './route.js'
import type { SuppressionDeps } from './suppressions.js'

export interface SuppressionImportDeps extends SuppressionDeps {
  readonly clock: Clock
  readonly files: FilesInMemory
}

const query = z.strictObject({
  reason: z
    .enum(suppressionReasons, `allowed: ${suppressionReasons.join(', ')}`)
    .default('manual')
    .meta({ description: 'Of lines that do not say theirs. Default `manual`.' }),
})

const report = z
  .strictObject({
    provider: z
      .enum(['postmark', 'sendgrid', 'mailgun', 'ses', 'list'])
      .meta({ description: 'Whose columns they are; `list`: of nobody in particular.' }),
    added: z.int(),
    known: z.int().meta({ description: 'On the list already, where they keep their first reason.' }),
    ...refusedLines,
  })
  .meta({ id: 'SuppressionImportReport' })

export function suppressionImportRoute({ files, ...deps }: SuppressionImportDeps): Route {
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
    answers: { 200: { description: 'What became of the lines.', schema: report } },
    refusals: ['payload_too_large'],
    receive: async ({ principal, query: { reason }, file, now }) => {
      const { workspaceId } = principal
      const note = ({ refusals: _, ...counts }: SuppressionReport) => [
        recordAct({
          workspaceId,
          actor: actorOf(principal),
          action: 'suppressions.imported',
          target: workspaceId,
          at: now,
          details: counts,
        }),
      ]
      const done = await withWholeFile(file, files, workspaceId, (bytes) =>
        importSuppressions(deps, { workspaceId, reason }, bytes, note),
      )
      return json(200, done)
    },
  })
}
