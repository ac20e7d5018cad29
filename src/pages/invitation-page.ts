/**
 * The page that the link of an invitation leads to: a plain form that needs no script, and
 * afterwards the new member's key, once.
 *
 * The token is the secret of the form as it is of the link: whoever can send it may.
 */
import { type AcceptDeps, acceptInvitation, openInvitation } from '../accounts/people/accept-invitation.js'
import { LONGEST_PASSWORD, SHORTEST_PASSWORD } from '../accounts/people/passwords.js'
import { html, type Markup } from '../mail/markup.js'
import { Refusal } from '../mail/refusal.js'
import { notePage, type Page, pageOf } from './layout.js'

export interface Looked {
  readonly query: URLSearchParams
  readonly now: number
}

export interface Filled {
  readonly form: URLSearchParams
  readonly remoteAddress: string
  readonly now: number
}

/** Throws a Refusal. */
export function showInvitation(deps: AcceptDeps, { query, now }: Looked): Page {
  return formPage(deps, { token: query.get('token') ?? '', now, status: 200, fault: null, name: '' })
}

/** Rejects with a Refusal. */
export async function takeInvitation(deps: AcceptDeps, { form, remoteAddress, now }: Filled): Promise<Page> {
  const token = form.get('token') ?? ''
  const { known, workspace } = openInvitation(deps, token, now)
  const fullName = known ? '' : nameIn(form)
  const password = form.get('password') ?? ''
  if (password === '' || Buffer.byteLength(password) > LONGEST_PASSWORD) {
    throw new Refusal('invalid-parameter', `password: 1 to ${LONGEST_PASSWORD} bytes`)
  }
  const { key } = await acceptInvitation(deps, { token, fullName, password, remoteAddress, now })
  return pageOf(
    201,
    `You belong to ${workspace}`,
    html`<main class="note">
<h1>You belong to ${workspace}</h1>
<p>This is your API key. It may do all that you may, and it is the password of SMTP too.
It is shown this once: keep it now.</p>
<code class="secret">${key.secret}</code>
<p class="hint">Lost, it cannot be shown again: somebody who manages the workspace revokes it, and you make another with
another key of yours. <a href="docs">What it can do</a></p>
</main>`,
  )
}

/** The same form, with what was wrong. Null where the link leads nowhere any more. */
export function formAgain(
  deps: AcceptDeps,
  filled: Omit<Filled, 'remoteAddress'>,
  status: number,
  fault: string,
): Page | null {
  const { form, now } = filled
  try {
    return formPage(deps, { token: form.get('token') ?? '', now, status, fault, name: form.get('full_name') ?? '' })
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

/** As the API takes it. */
function nameIn(form: URLSearchParams): string {
  const name = form.get('full_name') ?? ''
  if (name.trim() !== '' && name.length <= 100 && !/\p{Cc}/u.test(name)) return name
  throw new Refusal('invalid-parameter', 'full name: 1 to 100 characters')
}

interface Wanted {
  readonly token: string
  readonly now: number
  readonly status: number
  readonly fault: string | null
  readonly name: string
}

function formPage(deps: AcceptDeps, { token, now, status, fault, name }: Wanted): Page {
  const {
    workspace,
    email,
    role,
    known,
    invited_by_name: byName,
    invited_by_email: byEmail,
  } = openInvitation(deps, token, now)
  const by = byName === '' ? byEmail : `${byName} (${byEmail})`
  const task = known
    ? 'This address has an account here: show that it is yours with its password.'
    : 'Choose a password for your account.'
  return pageOf(
    status,
    `Join ${workspace}`,
    html`<main class="note">
<h1>Join ${workspace}</h1>
<p>${by} invites <b>${email}</b> to ${workspace} as ${role === 'admin' ? 'an admin' : 'a member'}. ${task}</p>
${fault === null ? null : html`<p class="fault" role="alert">${fault}</p>`}
<form method="post" action="invitation">
<input type="hidden" name="token" value="${token}">
${known ? null : nameField(name)}
${known ? knownPassword : newPassword}
<button>Join</button>
</form>
</main>`,
  )
}

function nameField(name: string): Markup {
  return html`<label for="full_name">Your name</label>
<input id="full_name" name="full_name" value="${name}" maxlength="100" autocomplete="name" required>`
}

const knownPassword = html`<label for="password">Your password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>`

const newPassword = html`<label for="password">Password</label>
<input id="password" name="password" type="password" minlength="${SHORTEST_PASSWORD}" autocomplete="new-password" required>
<p class="hint">At least ${SHORTEST_PASSWORD} characters.</p>`

export function noInvitation(status: number, message: string): Page {
  return notePage(
    status,
    'This invitation cannot be accepted',
    `${message[0]?.toUpperCase() ?? ''}${message.slice(1)}.`,
  )
}
