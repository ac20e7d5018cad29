/** Holds the outcome of processing a stored message: writes, and what follows once they are on disk. */

import type { Write } from '../../../base/storage/db/write.js'
import { removeInbound, removeInboundRaw } from '../../../records/messages/inbound/inbound-email.js'
import type { InboundEmail } from '../../../records/messages/inbound/inbound-record.js'

export interface ProcessingResult {
  /** They include `markProcessed`, or remove the record. */
  readonly writes: readonly Write[]
  /** Called when the writes are on disk. */
  readonly onCommitted?: () => void
}

/** The writes that remove the message and its bytes. */
export function removeMessage({ id, workspace_id: workspaceId }: InboundEmail): readonly Write[] {
  const place = { id, workspaceId }
  return [removeInbound(place), removeInboundRaw(place)]
}
