/** Style rules of every web page: text, the header with the wordmark, and the card with the content. They use the tokens. */
export const baseCss = `*,
*::before,
*::after {
  box-sizing: border-box;
}

body {
  margin: 0;
  min-height: 100dvh;
  background: var(--page);
  color: var(--text);
  font: 1rem / 1.5 var(--sans);
  overflow-wrap: break-word;
}

body > header,
main {
  width: min(100% - 2rem, 26rem);
  margin-inline: auto;
}

body > header {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  justify-content: space-between;
  gap: 0.5rem 1.5rem;
  padding-block: clamp(1.25rem, 6vh, 4rem) 1.25rem;
}

.wordmark {
  display: flex;
  align-items: center;
  gap: 0.5rem;
  color: var(--text);
  font-size: 1.375rem;
  font-weight: 700;
  letter-spacing: -0.02em;
  text-decoration: none;
}

.wordmark :is(img, svg) {
  width: 1.625rem;
  height: 1.625rem;
}

nav {
  display: flex;
  align-items: center;
  gap: 1.25rem;
}

main {
  margin-bottom: 3rem;
  padding: 2rem;
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 0.75rem;
  box-shadow: var(--shadow);
}

.wide > header,
.wide main {
  width: min(100% - 2rem, 48rem);
}

.wide > header {
  padding-top: 1.5rem;
}

h1 {
  margin: 0 0 1rem;
  font-size: 1.5rem;
  line-height: 1.25;
  letter-spacing: -0.01em;
}

h2 {
  margin: 0 0 0.75rem;
  font-size: 1.125rem;
  line-height: 1.35;
}

section + section {
  margin-top: 2rem;
  padding-top: 2rem;
  border-top: 1px solid var(--line);
}

p {
  margin: 0 0 1rem;
}

main > :last-child,
section > :last-child,
form > :last-child {
  margin-bottom: 0;
}

a {
  color: var(--accent);
  text-underline-offset: 0.15em;
}

a:hover {
  color: var(--accent-strong);
}

code {
  font: 0.9375em var(--mono);
}

@media (max-width: 30rem) {
  body {
    background: var(--card);
  }

  main {
    padding: 0;
    border: 0;
    border-radius: 0;
    box-shadow: none;
  }
}
`
