/** Many emails into the queue of a running daemon, in few commits, without its doors. */

import type { TestDaemon } from '../daemon/test-daemon.js'
import { type BulkEmail, bulkEmail } from './bulk.js'

const PORTION = 200

export async function enqueueAll({ daemon }: TestDaemon, email: BulkEmail, count: number): Promise<void> {
  for (let done = 0; done < count; done += PORTION) {
    const emails = Array.from({ length: Math.min(PORTION, count - done) }, () => bulkEmail(email))
    await daemon.database.commit(emails.flatMap(({ writes }) => writes))
  }
}
