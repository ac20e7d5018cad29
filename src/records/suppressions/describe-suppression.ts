/** Says in words why an address is on the suppression list. */
import type { SuppressionReason } from '../../base/storage/tables/content-tables.js'

const causes: Readonly<Record<SuppressionReason, string>> = {
  hard_bounce: 'mail to it bounced permanently',
  spam_complaint: 'its owner reported mail as spam',
  manual: 'a member of the workspace or an API key added it',
  unsubscribe: 'its owner unsubscribed',
}

/** Returns the end of a sentence that begins with "because". */
export function describeSuppression(reason: SuppressionReason): string {
  return causes[reason]
}
