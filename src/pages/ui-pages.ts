/** All pages under `/ui/` by their paths, and the redirects to them. */
import type { AcceptDeps } from '../accounts/people/accept-invitation.js'
import { renderDocsPage } from './docs-page.js'
import { renderFormAgain, renderInvitation, renderInvitationError, submitInvitation } from './invitation-page.js'
import { type Page, renderNotePage } from './layout.js'
import { startPage, startPageRedirect } from './start-page.js'

interface PageRequest {
  readonly path: string
  readonly query: URLSearchParams
  /** Null: a GET without a form. */
  readonly form: URLSearchParams | null
  readonly remoteAddress: string
  readonly now: number
}

interface UiPages {
  readonly find: (path: string) => { readonly form: boolean } | null
  /** Throws a Refusal. */
  readonly show: (request: PageRequest) => Promise<Page> | Page
  readonly showError: (status: number, message: string, request: PageRequest | null) => Page
}

interface UiPagesDeps {
  readonly acceptDeps: AcceptDeps
  /** The OpenAPI document. */
  readonly document: object
}

const DOCS_PATH = '/ui/docs'
/** Pages that are the same for every client. */
const START_PAGES: readonly (readonly [path: string, page: Page])[] = [
  ['/', startPageRedirect],
  ['/ui', startPageRedirect],
  ['/ui/', startPage],
]
const INVITATION_PATH = '/ui/invitation'

export function createUiPages({ acceptDeps, document }: UiPagesDeps): UiPages {
  const fixedPages = new Map([...START_PAGES, [DOCS_PATH, renderDocsPage(document)]])
  return {
    find: (path) => (path === INVITATION_PATH ? { form: true } : fixedPages.has(path) ? { form: false } : null),
    show: (request) => {
      const { path, form } = request
      const page = fixedPages.get(path)
      if (page !== undefined) return page
      return form === null ? renderInvitation(acceptDeps, request) : submitInvitation(acceptDeps, { ...request, form })
    },
    showError: (status, message, request) => {
      if (request?.path !== INVITATION_PATH) return renderNotePage(status, 'This page cannot be shown', `${message}.`)
      const { form, now } = request
      const again = form === null ? null : renderFormAgain(acceptDeps, { form, now }, status, message)
      return again ?? renderInvitationError(status, message)
    },
  }
}
