/**
 * Puts smtp-server's parser into data mode with a message of ours in the place of its stream.
 *
 * The parser goes on to find the end of the message and to take out the dots that were
 * added on the way (RFC 5321 section 4.5.2).
 *
 * Known limit: this repeats what `startDataMode` does. A new version of smtp-server must be
 * read for changes here, and for what else it asks of the stream.
 */
import type { SMTPServerDataStream } from 'smtp-server'
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import type { IncomingMessage } from './incoming-message.js'

export function startDataMode(parser: SMTPStream, maxSize: number, message: IncomingMessage): SMTPServerDataStream {
  const stream = message as unknown as SMTPServerDataStream
  parser._dataMode = true
  parser._maxBytes = maxSize
  parser.dataBytes = 0
  parser._atDataStart = true
  parser._dataStream = stream
  return stream
}
