/** POST /v1/suppressions/import: the suppression list of another provider, or ours, from a CSV file. */
import { z } from 'zod'
import { MAX_ROWS } from '../../../base/storage/db/csv-import.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { SuppressionImportReport } from '../../../base/storage/tables/content-tables.js'
import { importSuppressions, measureSuppressionFile } from '../../../records/suppressions/import-suppressions.js'
import { suppressionReasons } from '../../../records/suppressions/suppressions.js'
import { actorOf } from '../../../workspaces/accounts/access/audit-log.js'
import { recordSuppressionImport } from '../../../workspaces/imports/direct-import.js'
import { type Route, uploadRoute } from '../http/route/route.js'
import { encodingField, suppressionReport } from '../imports/imports.js'
import { acceptedAnswer, type ImportRouteDeps, importFileLimit, runFileImport } from '../imports/run-file-import.js'

const query = z.strictObject({
  reason: z
    .enum(suppressionReasons, `allowed: ${suppressionReasons.join(', ')}`)
    .default('manual')
    .meta({ description: 'The reason of lines that have none. Default `manual`.' }),
  encoding: encodingField,
})

export function suppressionImportRoute(deps: ImportRouteDeps): Route {
  return uploadRoute({
    method: 'POST',
    path: '/suppressions/import',
    area: 'write',
    tag: 'Suppressions',
    summary: 'Import suppressed addresses from a CSV file',
    description: 'Exports of Postmark, SendGrid, Mailgun and Amazon SES are recognized by their columns.',
    query,
    file: {
      limit: importFileLimit,
      description: `CSV with the column names in its first line; up to ${MAX_ROWS} lines.`,
      example: 'email,reason\r\nbob@example.com,unsubscribe\r\n',
    },
    answers: { 200: { description: 'The result for the lines.', schema: suppressionReport }, 202: acceptedAnswer },
    refusals: ['payload_too_large'],
    run: ({ principal, query: { reason, encoding: given }, body: file, now }) => {
      const { workspaceId } = principal
      const actor = actorOf(principal)
      const noteEnd = (report: SuppressionImportReport): readonly Write[] =>
        recordSuppressionImport({ workspaceId, actor, at: now }, report)
      return runFileImport<SuppressionImportReport>(deps, file, {
        workspaceId,
        plan: async (bytes) => {
          const { total, encoding } = await measureSuppressionFile(bytes, given)
          return {
            total,
            options: { kind: 'suppressions', reason, encoding, actor },
            importRows: (journal) =>
              importSuppressions(deps, { workspaceId, reason, encoding }, bytes, journal, noteEnd),
          }
        },
        now,
      })
    },
  })
}
