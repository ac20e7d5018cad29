/** GET /v1/emails/:id/story: what happened to an email, in the words of `posthorn explain`. The dashboard shows it too. */
import type { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { json } from '../http/answer.js'
import { type Route, route } from '../http/route/route.js'
import { viewerOf } from './show.js'
import { emailStory, readStory, toEmailFacts, toRecipient } from './story-record.js'

export function storyRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/emails/:id/story',
    area: 'read',
    own: true,
    tag: 'Emails',
    summary: 'Read what happened to an email in sentences, and what comes next',
    description: 'Sentences are for people, and may change. Programs read `status`, `reason` and the events.',
    answers: { 200: { description: 'The story', schema: emailStory } },
    refusals: ['email_not_found'],
    run: async ({ principal, params: { id = '' } }) => {
      const story = await readStory(read, viewerOf(principal), id)
      return json(200, {
        ...toEmailFacts(story),
        recipients: story.recipients.map(toRecipient),
      } satisfies z.output<typeof emailStory>)
    },
  })
}
