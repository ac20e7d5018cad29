/**
 * All pages under `/ui/` by their paths, and the redirects to them. Any path that is none of them leads to the
 * dashboard, if it was built, which finds its page itself.
 */

import { html } from '../../base/mail/markup.js'
import type { AcceptDeps } from '../../workspaces/accounts/sessions/accept-invitation.js'
import type { AppFile, AppFiles } from './app-files.js'
import { DocsPages } from './docs-pages.js'
import { renderFormAgain, renderInvitation, renderInvitationError, submitInvitation } from './invitation-page.js'
import { type Page, renderNotePage, renderPage } from './layout.js'

interface PageRequest {
  readonly path: string
  readonly query: URLSearchParams
  /** Null if it is a GET without a form. */
  readonly form: URLSearchParams | null
  readonly remoteAddress: string
  readonly now: number
}

interface UiPagesDeps {
  readonly acceptDeps: AcceptDeps
  /** Builds the OpenAPI document, which takes a tenth of a second. */
  readonly buildDocument: () => object
  /** The dashboard, or null if it was not built. */
  readonly files: AppFiles | null
}

/** Says what this server is, with links to the documentation. */
const startPage: Page = renderPage(
  200,
  'Posthorn',
  html`<main class="note">
<h1>Posthorn</h1>
<p>This is a mail server: programs send and receive mail through it, over a REST interface and over SMTP.
It has no mailboxes to read.</p>
<ul>
<li><a href="docs">The interface</a>: every request, with examples</li>
<li><a href="../v1/openapi.json">The same for tools</a>, an OpenAPI document</li>
</ul>
<p class="hint">Requests need a key, which an admin of a workspace makes. If you were invited, follow the link in the
mail. The folder <code>docs</code> of the program describes how to run the server.</p>
</main>`,
)

/** Leads from the root to the pages. It is relative, because a proxy may serve us below a path. */
const startPageRedirect: Page = { status: 302, html: '', headers: { Location: 'ui/', Vary: 'Accept' } }

/** Pages that are the same for every client. */
const START_PAGES: readonly (readonly [path: string, page: Page])[] = [
  ['/', startPageRedirect],
  ['/ui', startPageRedirect],
  ['/ui/', startPage],
]
const ASSETS_PATH = '/ui/assets/'
const INVITATION_PATH = '/ui/invitation'

export class UiPages {
  private readonly fixedPages: ReadonlyMap<string, Page>
  private readonly docs: DocsPages

  constructor(private readonly deps: UiPagesDeps) {
    const { buildDocument, files } = deps
    const startPages = START_PAGES.filter(([path]) => files === null || path !== '/ui/')
    this.fixedPages = new Map(startPages)
    this.docs = new DocsPages(buildDocument, files?.themeScript ?? null)
  }

  findFile(path: string): AppFile | null {
    const { files } = this.deps
    if (files === null || !path.startsWith('/ui/') || this.find(path) !== null) return null
    return files.find(path) ?? (path.startsWith(ASSETS_PATH) ? null : files.shell)
  }

  find(path: string): { readonly form: boolean } | null {
    if (path === INVITATION_PATH) return { form: true }
    return this.fixedPages.has(path) || this.docs.has(path) ? { form: false } : null
  }

  /** Throws a Refusal. */
  async show(request: PageRequest): Promise<Page> {
    const { path, query, form } = request
    const { acceptDeps } = this.deps
    const page = this.fixedPages.get(path)
    if (page !== undefined) return page
    if (this.docs.has(path)) return this.docs.show(path, query)
    return form === null
      ? await renderInvitation(acceptDeps, request)
      : submitInvitation(acceptDeps, { ...request, form })
  }

  async showError(status: number, message: string, request: PageRequest | null): Promise<Page> {
    if (request?.path !== INVITATION_PATH) return renderNotePage(status, 'This page cannot be shown', `${message}.`)
    const { form, now } = request
    const again = form === null ? null : await renderFormAgain(this.deps.acceptDeps, { form, now }, status, message)
    return again ?? renderInvitationError(status, message)
  }
}
