/** Counts the bytes of cached files, for each statement that changes them. */
import { CACHED_FILE_ROW_BYTES } from '../../schema/content.js'
import { addToPresentRows, addToRows, createStatementTrigger, type Parts, type Totals } from './statement-triggers.js'

const bytesOf = (query: string): Parts => ({
  table: 'cached_file_totals',
  key: ['workspace_id'],
  sums: ['bytes'],
  query,
})

export const cachedFileTotals: Totals = {
  replaces: ['cached_files_come', 'cached_files_grow', 'cached_files_go'],
  statements: [
    ...createStatementTrigger({
      name: 'cached_file_totals_come',
      event: 'insert',
      table: 'cached_files',
      body: addToRows(bytesOf(`select workspace_id, size + ${CACHED_FILE_ROW_BYTES} as bytes from added`)),
    }),
    ...createStatementTrigger({
      name: 'cached_file_totals_grow',
      event: 'update',
      table: 'cached_files',
      body: addToPresentRows(
        bytesOf(`select new_row.workspace_id, new_row.size - old_row.size as bytes
          from old_rows as old_row join new_rows as new_row using (workspace_id, key)`),
      ),
    }),
    ...createStatementTrigger({
      name: 'cached_file_totals_go',
      event: 'delete',
      table: 'cached_files',
      body: addToPresentRows(bytesOf(`select workspace_id, -size - ${CACHED_FILE_ROW_BYTES} as bytes from removed`)),
    }),
  ],
}
