/**
 * The states of queue entries, as lists and filters name them. It is a separate file, because the help of the command
 * line loads nothing else.
 */

export const queueStatuses = ['queued', 'deferred', 'scheduled', 'sending', 'held'] as const
export type QueueStatus = (typeof queueStatuses)[number]
