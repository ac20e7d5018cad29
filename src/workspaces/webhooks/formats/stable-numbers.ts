/** Numbers and tokens that are the same at each attempt, because they are made from the id of the event. */
import { createHash } from 'node:crypto'

const NUMBER_BYTES = 6

/** A whole number that JSON keeps exactly. */
export function numberOf(eventId: string): number {
  return createHash('sha256').update(`number ${eventId}`).digest().readUIntBE(0, NUMBER_BYTES)
}

/** 50 lowercase hex digits. */
export function tokenOf(eventId: string): string {
  return createHash('sha256').update(`token ${eventId}`).digest('hex').slice(0, 50)
}
