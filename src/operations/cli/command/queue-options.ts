/** The options of `queue` commands that choose entries. */
import { queueStatuses } from '../../../records/messages/queue/queue-status.js'

export const filterOptions = {
  domain: 'string',
  status: 'string',
  workspace: 'string',
  reason: 'string',
  provider: 'string',
  sender: 'string',
  'older-than': 'string',
} as const

export const filterUsage =
  `[--domain D] [--provider P] [--status ${queueStatuses.join('|')}] [--reason R] [--sender ADDRESS|DOMAIN] ` +
  '[--workspace ID] [--older-than 2h]'
