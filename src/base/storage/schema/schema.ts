/**
 * The schema of the first release: the statements that make it in an empty database, subject by subject.
 *
 * It is the first migration (`0001-baseline`), so it does not change once it is released: a correction is a migration
 * after it. Until then it may change, and databases that an earlier state of it has made must be created again.
 *
 * `storage/tables` has the same tables as types, with what their columns mean.
 */
import { accounts } from './accounts.js'
import { audiences } from './audiences.js'
import { broadcasts } from './broadcasts.js'
import { certificates } from './certificates.js'
import { changes } from './changes.js'
import { content } from './content.js'
import { delivery } from './delivery.js'
import { domains } from './domains.js'
import { emails } from './emails.js'
import { events } from './events.js'
import { inbound } from './inbound.js'
import { metrics } from './metrics.js'
import { queue } from './queue.js'
import { service } from './service.js'
import { sms } from './sms.js'
import { spam } from './spam.js'
import { spool } from './spool.js'
import { suppressions } from './suppressions.js'
import { tracking } from './tracking.js'
import { transfers } from './transfers.js'
import { compareInChecks } from './value-lists.js'
import { webhooks } from './webhooks.js'

/** A trigger follows its table; the tables that it changes may follow it. */
export const schema: readonly string[] = [
  ...service,
  ...certificates,
  ...accounts,
  ...domains,
  ...spool,
  ...emails,
  ...queue,
  ...delivery,
  ...events,
  ...tracking,
  ...suppressions,
  ...content,
  ...audiences,
  ...transfers,
  ...broadcasts,
  ...webhooks,
  ...metrics,
  ...inbound,
  ...spam,
  ...sms,
  ...changes,
].map(compareInChecks)
