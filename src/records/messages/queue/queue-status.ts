/** The states of queue entries, as lists and filters name them. */

export const queueStatuses = ['queued', 'deferred', 'scheduled', 'sending', 'held'] as const
export type QueueStatus = (typeof queueStatuses)[number]
