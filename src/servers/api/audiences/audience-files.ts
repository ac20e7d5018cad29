/** Contacts of an audience as CSV files: POST /v1/audiences/:id/import, GET /v1/audiences/:id/export. */
import { z } from 'zod'
import { detectEncoding } from '../../../base/platform/csv/encoding.js'
import { type ImportJournal, MAX_ROWS } from '../../../base/storage/db/csv-import.js'
import type { ContactImportReport } from '../../../base/storage/tables/content-tables.js'
import { requireAudience } from '../../../workspaces/audiences/audiences.js'
import { exportContacts } from '../../../workspaces/audiences/export-contacts.js'
import { countContactRows, importContacts } from '../../../workspaces/audiences/import-contacts.js'
import { formatContentDisposition } from '../http/output/content-disposition.js'
import { type Route, route, uploadRoute } from '../http/route/route.js'
import { contactReport } from '../imports/imports.js'
import { acceptedAnswer, type ImportRouteDeps, importFileLimit, runFileImport } from '../imports/run-file-import.js'
import { choiceFields, layoutFields, toLayout } from './import-layout.js'
import { type PreviewRouteDeps, previewRoute } from './import-preview.js'

const importQuery = z.strictObject({ ...choiceFields, ...layoutFields })

const tag = 'Audiences'

export function audienceFileRoutes(deps: PreviewRouteDeps): readonly Route[] {
  return [importRoute(deps), previewRoute(deps), exportRoute(deps)]
}

function importRoute(deps: ImportRouteDeps): Route {
  return uploadRoute({
    method: 'POST',
    path: '/audiences/:id/import',
    area: 'write',
    tag,
    summary: 'Import contacts from a CSV file',
    description: 'An address that the audience has is changed by what its line says; the others are added.',
    query: importQuery,
    file: {
      limit: importFileLimit,
      description: `CSV with the column names in its first line, one of them \`email\`; up to ${MAX_ROWS} lines.`,
      example: 'email,first_name\r\nbob@example.com,Bob\r\n',
    },
    answers: { 200: { description: 'The result for the lines.', schema: contactReport }, 202: acceptedAnswer },
    refusals: ['audience_not_found', 'payload_too_large'],
    run: async ({
      principal: { workspaceId },
      params: { id: audienceId = '' },
      query: { resubscribe, leave_out: leaveOut, ...layoutQuery },
      body: file,
      now,
    }) => {
      const check = (): Promise<unknown> => requireAudience(deps.read, workspaceId, audienceId)
      await check()
      const given = toLayout(layoutQuery)
      const plan = async (bytes: Buffer) => {
        const layout = { ...given, encoding: given.encoding ?? (await detectEncoding(bytes)) }
        const request = { audienceId, resubscribe, layout, leaveOut }
        return {
          total: await countContactRows(bytes, layout),
          options: { kind: 'contacts', ...request } as const,
          importRows: (journal: ImportJournal<ContactImportReport>) =>
            importContacts(deps, { ...request, workspaceId }, bytes, journal),
        }
      }
      return runFileImport<ContactImportReport>(deps, file, { workspaceId, check, plan, now })
    },
  })
}

function exportRoute({ read }: ImportRouteDeps): Route {
  return route({
    method: 'GET',
    path: '/audiences/:id/export',
    area: 'read',
    tag,
    summary: 'Export the contacts of an audience as a CSV file',
    description: 'An import accepts the file. Cells that a spreadsheet would evaluate begin with an apostrophe.',
    answers: {
      200: {
        description: 'The contacts, newest first.',
        type: 'text/csv',
        example: 'email,first_name,last_name,subscribed\r\nbob@example.com,Bob,Lee,true\r\n',
        headers: ['Content-Disposition'],
      },
    },
    refusals: ['audience_not_found'],
    run: async ({ principal: { workspaceId }, params: { id = '' } }) => {
      const { name } = await requireAudience(read, workspaceId, id)
      const headers = { 'Content-Disposition': formatContentDisposition(`${name}.csv`) }
      const pieces = exportContacts(read, { workspaceId, audienceId: id })
      return { kind: 'stream', type: 'text/csv; charset=utf-8', headers, pieces }
    },
  })
}
