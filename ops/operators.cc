#include "heddle/ndarray.h"
#include "heddle/ops.h"

#include "ops/elementwise.h"

namespace heddle {

NDArray operator+(const NDArray& a, const NDArray& b) { return add(a, b); }
NDArray operator-(const NDArray& a, const NDArray& b) { return subtract(a, b); }
NDArray operator*(const NDArray& a, const NDArray& b) { return multiply(a, b); }
NDArray operator/(const NDArray& a, const NDArray& b) { return divide(a, b); }
NDArray operator+(const NDArray& a, Scalar b) { return add(a, b); }
NDArray operator-(const NDArray& a, Scalar b) { return subtract(a, b); }
NDArray operator*(const NDArray& a, Scalar b) { return multiply(a, b); }
NDArray operator/(const NDArray& a, Scalar b) { return divide(a, b); }
NDArray operator+(Scalar a, const NDArray& b) { return add(a, b); }
NDArray operator-(Scalar a, const NDArray& b) { return subtract(a, b); }
NDArray operator*(Scalar a, const NDArray& b) { return multiply(a, b); }
NDArray operator/(Scalar a, const NDArray& b) { return divide(a, b); }

NDArray NDArray::operator-() const { return negate(*this); }

NDArray& NDArray::operator+=(const NDArray& rhs) {
  ops::apply_in_place(ops::add_op, *this, rhs);
  return *this;
}
NDArray& NDArray::operator-=(const NDArray& rhs) {
  ops::apply_in_place(ops::subtract_op, *this, rhs);
  return *this;
}
NDArray& NDArray::operator*=(const NDArray& rhs) {
  ops::apply_in_place(ops::multiply_op, *this, rhs);
  return *this;
}
NDArray& NDArray::operator/=(const NDArray& rhs) {
  ops::apply_in_place(ops::divide_op, *this, rhs);
  return *this;
}
NDArray& NDArray::operator+=(Scalar rhs) {
  ops::apply_in_place(ops::add_op, *this, rhs);
  return *this;
}
NDArray& NDArray::operator-=(Scalar rhs) {
  ops::apply_in_place(ops::subtract_op, *this, rhs);
  return *this;
}
NDArray& NDArray::operator*=(Scalar rhs) {
  ops::apply_in_place(ops::multiply_op, *this, rhs);
  return *this;
}
NDArray& NDArray::operator/=(Scalar rhs) {
  ops::apply_in_place(ops::divide_op, *this, rhs);
  return *this;
}

}  // namespace heddle
