/** All pages under `/ui/`, by their paths, and what leads there. */
import type { AcceptDeps } from '../accounts/people/accept-invitation.js'
import { docsPage } from './docs-page.js'
import { formAgain, noInvitation, showInvitation, takeInvitation } from './invitation-page.js'
import { notePage, type Page } from './layout.js'
import { startPage, toStartPage } from './start-page.js'

export interface PageRequest {
  readonly path: string
  readonly query: URLSearchParams
  /** Null: the page is only looked at. */
  readonly form: URLSearchParams | null
  readonly remoteAddress: string
  readonly now: number
}

export interface UiPages {
  readonly find: (path: string) => { readonly form: boolean } | null
  /** Throws a Refusal. */
  readonly show: (request: PageRequest) => Promise<Page> | Page
  readonly fault: (status: number, message: string, request: PageRequest | null) => Page
}

export interface UiPagesDeps {
  readonly accepting: AcceptDeps
  /** The OpenAPI document. */
  readonly document: object
}

const DOCS = '/ui/docs'
/** Pages that are the same for everybody, and known from the start. */
const START: readonly (readonly [path: string, page: Page])[] = [
  ['/', toStartPage],
  ['/ui', toStartPage],
  ['/ui/', startPage],
]
const INVITATION = '/ui/invitation'

export function uiPages({ accepting, document }: UiPagesDeps): UiPages {
  const fixed = new Map([...START, [DOCS, docsPage(document)]])
  return {
    find: (path) => (path === INVITATION ? { form: true } : fixed.has(path) ? { form: false } : null),
    show: (request) => {
      const { path, form } = request
      const page = fixed.get(path)
      if (page !== undefined) return page
      return form === null ? showInvitation(accepting, request) : takeInvitation(accepting, { ...request, form })
    },
    fault: (status, message, request) => {
      if (request?.path !== INVITATION) return notePage(status, 'This page cannot be shown', `${message}.`)
      const { form, now } = request
      const again = form === null ? null : formAgain(accepting, { form, now }, status, message)
      return again ?? noInvitation(status, message)
    },
  }
}
