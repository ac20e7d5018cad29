/** The documented errors of parsers. */
import { Refusal } from '../../../../src/base/mail/refusal.js'

export const isRefusal = (error: unknown): boolean => error instanceof Refusal
