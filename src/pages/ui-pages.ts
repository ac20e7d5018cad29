/** All pages under `/ui/`, by their paths. */
import type { AcceptDeps } from '../accounts/accept-invitation.js'
import { docsPage } from './docs-page.js'
import { formAgain, noInvitation, showInvitation, takeInvitation } from './invitation-page.js'
import { notePage, type Page } from './layout.js'

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
const INVITATION = '/ui/invitation'

export function uiPages({ accepting, document }: UiPagesDeps): UiPages {
  const docs = docsPage(document)
  const paths: ReadonlyMap<string, { readonly form: boolean }> = new Map([
    [DOCS, { form: false }],
    [INVITATION, { form: true }],
  ])
  return {
    find: (path) => paths.get(path) ?? null,
    show: (request) => {
      const { path, form } = request
      if (path === DOCS) return docs
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
