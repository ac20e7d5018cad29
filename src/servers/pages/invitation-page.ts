/**
 * The page that the link of an invitation leads to: a form without script, then the new member's key, shown once.
 *
 * The token authorizes the form as it does the link.
 */

import { html, type Markup } from '../../base/mail/markup.js'
import { Refusal } from '../../base/mail/refusal.js'
import { MIN_PASSWORD_LENGTH } from '../../workspaces/accounts/people/password-rule.js'
import { MAX_PASSWORD_BYTES } from '../../workspaces/accounts/people/passwords.js'
import {
  type AcceptDeps,
  acceptInvitation,
  findOpenInvitation,
} from '../../workspaces/accounts/sessions/accept-invitation.js'
import { type Page, renderNotePage, renderPage } from './layout.js'

interface PageView {
  readonly query: URLSearchParams
  readonly now: number
}

interface FormSubmission {
  readonly form: URLSearchParams
  readonly remoteAddress: string
  readonly now: number
}

/** Throws a Refusal. */
export async function renderInvitation(deps: AcceptDeps, { query, now }: PageView): Promise<Page> {
  return renderFormPage(deps, { token: query.get('token') ?? '', now, status: 200, fault: null, name: '' })
}

/** Rejects with a Refusal. */
export async function submitInvitation(deps: AcceptDeps, { form, remoteAddress, now }: FormSubmission): Promise<Page> {
  const token = form.get('token') ?? ''
  const { hasAccount, workspace, email } = await findOpenInvitation(deps, token, now)
  const fullName = hasAccount ? '' : parseName(form)
  const password = form.get('password') ?? ''
  if (password === '' || Buffer.byteLength(password) > MAX_PASSWORD_BYTES) {
    throw new Refusal('invalid-parameter', `password: 1 to ${MAX_PASSWORD_BYTES} bytes`)
  }
  const code = form.get('code') ?? undefined
  const { key } = await acceptInvitation(deps, { token, fullName, password, code, remoteAddress, now })
  return renderPage(
    201,
    `You belong to ${workspace}`,
    html`<main class="note">
<h1>You belong to ${workspace}</h1>
<p><a href=".//">Sign in to the dashboard</a> with ${email} and your password.</p>
<p>This is your API key. It has all of your permissions and is also the password for SMTP.
It is shown only once: keep it now.</p>
<code class="secret">${key.secret}</code>
<p class="hint">If you lose it, an admin of the workspace can revoke it, and you can make another in
the dashboard. <a href="docs">What it can do</a></p>
</main>`,
  )
}

/** The same form with the fault. Null if the invitation is no longer open. */
export async function renderFormAgain(
  deps: AcceptDeps,
  submission: Omit<FormSubmission, 'remoteAddress'>,
  status: number,
  fault: string,
): Promise<Page | null> {
  const { form, now } = submission
  try {
    return await renderFormPage(deps, {
      token: form.get('token') ?? '',
      now,
      status,
      fault,
      name: form.get('full_name') ?? '',
    })
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

/** The same rule as in the API. */
function parseName(form: URLSearchParams): string {
  const name = form.get('full_name') ?? ''
  if (name.trim() !== '' && name.length <= 100 && !/\p{Cc}/u.test(name)) return name
  throw new Refusal('invalid-parameter', 'full name: 1 to 100 characters')
}

interface FormValues {
  readonly token: string
  readonly now: number
  readonly status: number
  readonly fault: string | null
  readonly name: string
}

async function renderFormPage(deps: AcceptDeps, { token, now, status, fault, name }: FormValues): Promise<Page> {
  const {
    workspace,
    email,
    role,
    hasAccount,
    invited_by_name: byName,
    invited_by_email: byEmail,
  } = await findOpenInvitation(deps, token, now)
  const by = byName === '' ? byEmail : `${byName} (${byEmail})`
  const task = hasAccount
    ? 'This address has an account here: show that it is yours with its password.'
    : 'Choose a password for your account.'
  return renderPage(
    status,
    `Join ${workspace}`,
    html`<main class="note">
<h1>Join ${workspace}</h1>
<p>${by} invites <b>${email}</b> to ${workspace} as ${role === 'admin' ? 'an admin' : 'a member'}. ${task}</p>
${fault === null ? null : html`<p class="fault" role="alert">${fault}</p>`}
<form method="post" action="invitation">
<input type="hidden" name="token" value="${token}">
${hasAccount ? null : renderNameField(name)}
${hasAccount ? currentPasswordField : newPasswordField}
<button>Join</button>
</form>
</main>`,
  )
}

function renderNameField(name: string): Markup {
  return html`<label for="full_name">Your name</label>
<input id="full_name" name="full_name" value="${name}" maxlength="100" autocomplete="name" required>`
}

const currentPasswordField = html`<label for="password">Your password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<label for="code">Code of your authenticator</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="20">
<p class="hint">Only if you have enabled the second factor.</p>`

const newPasswordField = html`<label for="password">Password</label>
<input id="password" name="password" type="password" minlength="${MIN_PASSWORD_LENGTH}" autocomplete="new-password" required>
<p class="hint">At least ${MIN_PASSWORD_LENGTH} characters, and not only a common word, a row of keys, your address or your name.</p>`

export function renderInvitationError(status: number, message: string): Page {
  return renderNotePage(
    status,
    'This invitation cannot be accepted',
    `${message[0]?.toUpperCase() ?? ''}${message.slice(1)}.`,
  )
}
