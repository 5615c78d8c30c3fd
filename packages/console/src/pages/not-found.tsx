import { Link } from '@tanstack/react-router'
import { Title } from '../components/title.tsx'

/** An address without a page, or of something that does not exist or that the user cannot see: these are not distinguished. */
export function NotFound() {
  return (
    <>
      <Title text="Not found" />
      <p>This does not exist, or you have no permission to see it.</p>
      <p>
        <Link to="/">Go to the home page</Link>
      </p>
    </>
  )
}
