/** Removes reports about domains after `retention.reports`, some at a time. */
import type { Store } from '../../../base/storage/db/database.js'
import { removeDomainReport, reportsReceivedBefore } from './report-records.js'

const BATCH_SIZE = 50

/** Resolves to whether there may be more. */
export async function removeOldReports({ read, commit }: Store, before: number): Promise<boolean> {
  const old = await reportsReceivedBefore(read, { before, limit: BATCH_SIZE })
  if (old.length > 0) await commit(old.map(removeDomainReport))
  return old.length === BATCH_SIZE
}
