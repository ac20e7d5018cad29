/** What answers to imports share: the limit of a file, and how refused lines are told. */
import { z } from 'zod'
import { MAX_TOLD } from '../platform/refused-lines.js'
import type { FileLimit } from './upload.js'

const MB = 1_048_576

export const importLimit: FileLimit = { bytes: 25 * MB, tooLarge: 'too-large' }

export const refusedLines = {
  refused: z.int().meta({ description: 'Lines that were passed over.' }),
  refusals: z
    .array(
      z.strictObject({
        line: z.int(),
        field: z.string().nullable(),
        reason: z.string(),
        value: z.string().nullable(),
      }),
    )
    .meta({
      description: `The first ${MAX_TOLD} of them, and why.`,
      example: [{ line: 7, field: 'email', reason: 'is not a mail address', value: 'bob' }],
    }),
}
