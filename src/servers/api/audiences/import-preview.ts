/** POST /v1/audiences/:id/import/preview: what an import of a file would do, without importing it. */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { OwnerTurns } from '../../../base/platform/owner-turns.js'
import type { WorkspaceDirectory } from '../../../workspaces/accounts/workspace/workspace-directory.js'
import { requireAudience } from '../../../workspaces/audiences/audiences.js'
import {
  type ContactPreview,
  MAX_CHECKED,
  MAX_CHECKED_CELLS,
  MAX_CHECKED_TEXT,
  MAX_SHOWN,
  previewContacts,
} from '../../../workspaces/audiences/preview-contacts.js'
import { json } from '../http/answer.js'
import { withFileInMemory } from '../http/input/file-in-memory.js'
import { type Route, uploadRoute } from '../http/route/route.js'
import { contactCounts, hintFields, readAs, refusedLineFields, toReasons } from '../imports/imports.js'
import { type ImportRouteDeps, importFileLimit } from '../imports/run-file-import.js'
import { choiceFields, delimiterName, layoutFields, nameDelimiter, toLooseLayout } from './import-layout.js'

const query = z.strictObject({
  ...choiceFields,
  ...layoutFields,
  header: layoutFields.header.meta({
    description:
      'Whether the first line has the names of the columns. Without it, the first line is data if it has an address.',
  }),
})

const column = z.strictObject({
  title: z.string().nullable().meta({ description: 'Its name in the file; null: the file has none.', example: 'City' }),
  field: z
    .string()
    .nullable()
    .meta({ description: 'The field that it becomes; null: none.', example: 'metadata.City' }),
  problem: z.string().nullable().meta({ description: 'Why its name is not understood.', example: null }),
})

const preview = z
  .strictObject({
    header: z.boolean(),
    delimiter: delimiterName.meta({ example: 'comma' }),
    encoding: readAs,
    columns: z.array(column),
    rows: z
      .array(z.strictObject({ line: z.int(), cells: z.array(z.string()) }))
      .meta({ description: `The first ${MAX_SHOWN}.`, example: [{ line: 2, cells: ['bob@example.com', 'Bob'] }] }),
    total: z.int().meta({ description: 'Lines of the file, without that of the column names.' }),
    checked: z.int().meta({
      description:
        `Lines to which the rest belongs: at most the first ${MAX_CHECKED}, and fewer if they have more than ` +
        `${MAX_CHECKED_CELLS} cells or ${MAX_CHECKED_TEXT} characters.`,
      example: 998,
    }),
    problem: z
      .string()
      .nullable()
      .meta({ description: 'Why the file cannot be imported with these columns. Null: it can.', example: null }),
    ...contactCounts,
    ...refusedLineFields,
    ...hintFields,
  })
  .meta({ id: 'ContactImportPreview' })

export interface PreviewRouteDeps extends ImportRouteDeps {
  readonly workspaces: Pick<WorkspaceDirectory, 'ownerOf'>
}

/** Previews of all owners together, and those that wait with their files in memory, of all and of one owner. */
const TOGETHER = 3
const limits = { maxWaiting: 60, maxWaitingOfOwner: 4 }

export function previewRoute({ read, clock, files, workspaces }: PreviewRouteDeps): Route {
  const turns = new OwnerTurns({
    together: TOGETHER,
    waiting: {
      ...limits,
      buildRefusal: () =>
        new Refusal('unavailable', 'too many files are being previewed, try again later', { retry_after: 2 }),
    },
  })
  return uploadRoute({
    method: 'POST',
    path: '/audiences/:id/import/preview',
    area: 'write',
    tag: 'Audiences',
    summary: 'Show what an import of a CSV file would do',
    description: 'Nothing is stored. Use the answer to choose `columns` and `leave_out` for the import.',
    query,
    file: {
      limit: importFileLimit,
      description: 'The file that you want to import.',
      example: 'email,first_name\r\nbob@example.com,Bob\r\n',
    },
    answers: { 200: { description: 'Columns, first rows, refused lines and hints.', schema: preview } },
    refusals: ['audience_not_found', 'payload_too_large'],
    run: async ({
      principal: { workspaceId },
      params: { id: audienceId = '' },
      query: { resubscribe, leave_out: leaveOut, ...layoutQuery },
      body: file,
    }) => {
      await requireAudience(read, workspaceId, audienceId)
      const layout = toLooseLayout(layoutQuery)
      const about = { read, workspaceId, audienceId, resubscribe, now: clock() }
      // The file is complete before it waits, so that a slow client holds no turn.
      const found = await withFileInMemory(file, files, workspaceId, (bytes) =>
        turns.run(workspaces.ownerOf(workspaceId), () => previewContacts(bytes, { layout, leaveOut, about })),
      )
      return json(200, toResource(found))
    },
  })
}

function toResource({ hasHeader, delimiter, ...found }: ContactPreview): z.output<typeof preview> {
  return {
    ...found,
    header: hasHeader,
    delimiter: nameDelimiter(delimiter),
    columns: [...found.columns],
    rows: found.rows.map(({ line, cells }) => ({ line, cells: [...cells] })),
    refusals: [...found.refusals],
    refusal_reasons: toReasons(found),
    hints: [...found.hints],
  }
}
