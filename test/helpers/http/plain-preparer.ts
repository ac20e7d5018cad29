/** Prepares events for webhooks that need nothing of messages, as of the format `posthorn`. */
import { createSecretKey } from 'node:crypto'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { MimeReader } from '../../../src/records/messages/mime/mime-parts.js'
import { EventPreparer } from '../../../src/workspaces/webhooks/event-preparer.js'

export function plainPreparer(read: Read): EventPreparer {
  const links = { secret: createSecretKey(Buffer.alloc(32)), publicUrl: 'https://mail.test' }
  return new EventPreparer({ read, clock: Date.now, mime: new MimeReader(), links })
}
