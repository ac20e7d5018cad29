/** What a request for an import asked for, as the import keeps it. */
import type { Actor } from '../accounts/audit-log.js'
import type { SuppressionReason } from '../suppressions/suppressions.js'

export type ImportOptions =
  | { readonly kind: 'contacts'; readonly audienceId: string; readonly resubscribe: boolean }
  | { readonly kind: 'suppressions'; readonly reason: SuppressionReason; readonly actor: Actor }
