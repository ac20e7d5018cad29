/** PATCH /ui/api/profile: the user's own name, which invitations and lists of members show. */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { setName } from '../../../workspaces/accounts/people/users.js'
import { json } from '../http/answer.js'
import { name } from '../http/input/values.js'
import { type Route, sessionRoute } from '../http/route/route.js'
import type { AccountDeps } from './session.js'
import { buildSessionView, sessionView } from './session-view.js'

const profile = z.strictObject({ full_name: name }).meta({ id: 'Profile', example: { full_name: 'Ann Lee' } })

export function profileRoute({ read, commit, names }: AccountDeps): Route {
  return sessionRoute({
    method: 'PATCH',
    path: '/profile',
    area: 'session',
    tag: 'Own account',
    summary: 'Change your name',
    body: profile,
    answers: { 200: { description: 'The session with the new name.', schema: sessionView } },
    refusals: [],
    run: async ({ session, body: { full_name: fullName } }) => {
      const isChanged = await tryCommit(commit([setName({ id: session.userId, name: fullName })]))
      if (!isChanged) throw new Refusal('signed-out', 'the account no longer exists')
      return json(200, await buildSessionView(read, session, names))
    },
  })
}
