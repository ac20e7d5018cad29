/** The page for an address that has none. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { Page } from './page.tsx'

export function NotFoundPage(): VNode {
  return (
    <Page title="Page not found" intro="There is no page at this address.">
      <p>
        <Link href="/">Go to the start page</Link>
      </p>
    </Page>
  )
}
