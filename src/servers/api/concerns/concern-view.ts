/** The list of what a person should repair, as routes show it. */
import { z } from 'zod'
import { type Concern, severities, sortConcerns } from '../../../operations/concerns/concern.js'

const concern = z
  .strictObject({
    key: z.string().meta({ description: 'Unique in the list.', example: 'domain example.com' }),
    severity: z.enum(severities).meta({ description: '`unanswered`: a check had no answer, and says nothing.' }),
    title: z.string().meta({ example: 'Sending from example.com has stopped' }),
    text: z.string().meta({ description: 'What it means and what to do. Times are in ISO 8601.' }),
    link: z
      .strictObject({ href: z.string().meta({ example: '/domains/1' }), label: z.string() })
      .nullable()
      .meta({ description: 'The page on which it is repaired.' }),
    remedy: z.array(z.string()).meta({ description: 'Texts to copy.', example: ['dig -x 192.0.2.1'] }),
    affected: z.array(z.string()).meta({
      description: 'What else has this cause.',
      example: ['ptr 192.0.2.1: DNS gave no answer (CONNREFUSED)'],
    }),
  })
  .meta({ id: 'Concern' })

export const concernList = z.array(concern).meta({ description: 'Worst first.' })

export function showConcerns(concerns: readonly Concern[]): z.output<typeof concernList> {
  return sortConcerns(concerns).map((one) => ({
    ...one,
    remedy: [...one.remedy],
    affected: [...(one.affected ?? [])],
  }))
}
