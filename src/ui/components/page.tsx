/** The frame of each page: heading, actions, the title of the window, and the focus after navigation. */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { allowBreaks } from './allow-breaks.tsx'
import { HelpLink } from './help-link.tsx'
import { findHelpTopic } from './help-topics.ts'

interface PageProps {
  readonly title: string
  /** What the page shows next to the heading, such as a StatusBadge. */
  readonly badge?: ComponentChildren
  /** One sentence on what the page is for. */
  readonly intro?: ComponentChildren
  /** Buttons of the page. */
  readonly actions?: ComponentChildren
  /** The page above this one. */
  readonly up?: { readonly href: string; readonly label: string }
  readonly children: ComponentChildren
}

export function Page({ title, badge, intro, actions, up, children }: PageProps): VNode {
  const heading = useRef<HTMLHeadingElement>(null)
  const [location] = useLocation()
  const topic = findHelpTopic(location)
  useEffect(() => {
    document.title = `${title} · Posthorn`
  }, [title])
  useEffect(() => {
    heading.current?.focus({ preventScroll: true })
    window.scrollTo(0, 0)
  }, [])
  return (
    <div class="page">
      <header class="page-head">
        {up === undefined ? null : (
          <Link class="page-up" href={up.href}>
            <span aria-hidden="true">‹</span> {up.label}
          </Link>
        )}
        <div class="page-title">
          <h1 ref={heading} tabIndex={-1}>
            {allowBreaks(title)}
          </h1>
          {badge}
          {topic === null ? null : <HelpLink topic={topic}>Help</HelpLink>}
        </div>
        {actions === undefined ? null : <div class="page-actions">{actions}</div>}
        {intro === undefined ? null : <p class="page-intro">{intro}</p>}
      </header>
      {children}
    </div>
  )
}

interface SectionProps {
  readonly title: string
  readonly intro?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A part of a page with its own heading. */
export function Section({ title, intro, actions, children }: SectionProps): VNode {
  return (
    <section class="section">
      <header class="section-head">
        <div class="section-title">
          <h2>{allowBreaks(title)}</h2>
          {intro === undefined ? null : <p class="section-intro">{intro}</p>}
        </div>
        {actions === undefined ? null : <div class="section-actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}
