/** Tracks the HTML of a MIME message. */
import type { Header } from '../mail/header-fields.js'
import type { EmailTracking, TrackingSkip } from './track-email.js'

export function rewriteMessage(
  raw: Buffer,
  _header: Header,
  _trackHtml: EmailTracking['trackHtml'],
): Buffer | TrackingSkip {
  return raw
}
