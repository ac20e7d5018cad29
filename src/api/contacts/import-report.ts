/** What imports answer: their reports, and the limit of a file. */
import { z } from 'zod'
import { MAX_LISTED } from '../../platform/csv/refused-lines.js'
import type { FileLimit } from '../http/input/upload.js'

const MB = 1_048_576

export const importLimit: FileLimit = { bytes: 25 * MB, tooLarge: 'too-large' }

const refusedLineFields = {
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
      description: `The first ${MAX_LISTED} of them, and why.`,
      example: [{ line: 7, field: 'email', reason: 'is not a mail address', value: 'bob' }],
    }),
}

export const contactReport = z
  .strictObject({
    added: z.int(),
    updated: z.int(),
    unchanged: z.int().meta({ description: 'Lines that say what is there already.' }),
    still_unsubscribed: z.int().meta({ description: 'Lines that would have subscribed somebody again.' }),
    ...refusedLineFields,
  })
  .meta({ id: 'ContactImportReport' })

export const suppressionReport = z
  .strictObject({
    provider: z
      .enum(['postmark', 'sendgrid', 'mailgun', 'ses', 'list'])
      .meta({ description: 'Whose columns they are; `list`: of nobody in particular.' }),
    added: z.int(),
    known: z.int().meta({ description: 'On the list already, where they keep their first reason.' }),
    ...refusedLineFields,
  })
  .meta({ id: 'SuppressionImportReport' })
