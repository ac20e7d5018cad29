/** The states of queue entries, as lists and filters name them. The help of the command line loads no more than this. */

export const queueStatuses = ['queued', 'deferred', 'scheduled', 'sending', 'held'] as const
export type QueueStatus = (typeof queueStatuses)[number]
