/**
 * GET /v1/emails/:id/story: what happened to an email, in the words of `posthorn explain`; and the same for pages, with
 * what members may do about it.
 */
import type { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { RecipientStory } from '../../../records/messages/story/tell-story.js'
import { json } from '../http/answer.js'
import { type Route, route } from '../http/route/route.js'
import { viewerOf } from './show.js'
import { emailStory, readStory, storyOfPage, toEmailFacts, toRecipient } from './story-record.js'

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

export function storyPageRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/emails/:id/story',
    area: 'read',
    tag: 'Emails',
    summary: 'Read what happened to an email, what comes next, and what members may do',
    answers: { 200: { description: 'The story', schema: storyOfPage } },
    refusals: ['email_not_found'],
    run: async ({ principal, params: { id = '' } }) => {
      const story = await readStory(read, viewerOf(principal), id)
      return json(200, {
        ...toEmailFacts(story),
        recipients: story.recipients.map((one) => ({ ...toRecipient(one), can: listActs(one) })),
      } satisfies z.output<typeof storyOfPage>)
    },
  })
}

/** An entry that is being attempted, or that waits for a paused broadcast, has no time. */
function listActs({
  recipient: { status, held_by, next_attempt_at },
}: RecipientStory): ('hold' | 'release' | 'retry')[] {
  if (held_by === 'operator' || held_by === 'rule' || next_attempt_at === null) return []
  const hold = held_by === 'workspace' ? ('release' as const) : ('hold' as const)
  return status === 'scheduled' ? [hold] : [hold, 'retry']
}
